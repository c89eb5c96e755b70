/** A public key of Ed25519 as a JWK, with nothing that can be left out. */
export interface PublicKey {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
}
