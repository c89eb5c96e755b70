import { describeProxy } from "./testing/describe-proxy.ts";
import { CADDY } from "./testing/kinds.ts";

describeProxy(CADDY);
