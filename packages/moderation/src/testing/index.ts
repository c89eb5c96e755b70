export { halted, moderatedRequest, redacted, unavailable, verdict } from "./moderated.ts";
