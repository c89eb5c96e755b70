import { unixNow } from "@reprise/protocol";
import type { Extension } from "../../extension.ts";
import { addStreamRoutes, STREAM_PATHS } from "./stream-routes.ts";
import { StreamFeeds } from "./stream-feeds.ts";
import { StreamLogs } from "./stream-logs.ts";

export const streams: Extension = {
  open(options) {
    const logs = new StreamLogs({ ...options, now: unixNow });
    const feeds = new StreamFeeds(options);
    return {
      serve: (ports) => ({
        routes: {
          paths: STREAM_PATHS,
          add: (app) => addStreamRoutes(app, { ...ports, logs, feeds }),
        },
      }),
      [Symbol.asyncDispose]: async () => {},
    };
  },
};
