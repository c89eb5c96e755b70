/** A set-up that can't continue; the message is for the user that runs it. */
export class SetUpError extends Error {}
