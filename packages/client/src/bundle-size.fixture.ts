/**
 * Of the SDK, minified, and what of it crosses the network. Close above what it is, so that growth is a decision. Of these, 2.3 and 0.7 KiB are
 * the answers to failures (tool calls and what answers them, attempts in the transcript, and a dozen error codes), 3.3 and 1.1
 * are moderation: what was withdrawn leaves the text here too, by the same rule as in the platform, however often; 0.9 and 0.3 are the
 * budget by time and what wakes it; 0.8 and 0.3 are what was decided behind the end; 1.2 and 0.4 are tokens that are renewed; 0.2 and 0.1 are
 * the codes of limits and of the admin API; 0.3 and 0.1 are tokens that were cached, reasoned or taken by calls; 0.8 and 0.3 are timings that are reported; 0.2 and 0.1 are the codes of blobs, of capabilities and of conversations; 1.2 and 0.3 are refusals, annotations, tokens of audio, and the names of further events; 0.2 and 0.1 are what the modules beside it make their calls with; and the rest is the names of calls that were withdrawn.
 */
export const MAX_BYTES = 29.5 * 1_024;
export const MAX_GZIP_BYTES = 10.25 * 1_024;

/** Of the modules beside it, minified. */
export const DOOR_BYTES = { blobs: 4.25 * 1_024, conversations: 1_024, models: 256 };
