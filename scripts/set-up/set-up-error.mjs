/** A set-up that can't go on; the message is for whoever runs it. */
export class SetUpError extends Error {}
