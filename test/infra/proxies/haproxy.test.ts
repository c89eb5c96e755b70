import { describeProxy } from "./testing/describe-proxy.ts";
import { HAPROXY } from "./testing/kinds.ts";

describeProxy(HAPROXY);
