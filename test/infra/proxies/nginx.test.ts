import { describeProxy } from "./testing/describe-proxy.ts";
import { NGINX } from "./testing/kinds.ts";

describeProxy(NGINX);
