/** The provider's name: of its `providerOptions`, its `providerMetadata` and its references. */
export const PROVIDER = "reprise";
