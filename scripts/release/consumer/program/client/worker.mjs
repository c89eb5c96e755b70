// The same in a worker, which answers a request with what it read.
import { createClient } from "@reprise/client";
import { readGenerations } from "./read-generations.mjs";

// oxlint-disable-next-line import/no-default-export -- where workers look for what handles requests
export default {
  /**
   * @param {Request} _request
   * @param {{ PLATFORM_URL: string, PLATFORM_KEY: string }} bindings
   */
  async fetch(_request, { PLATFORM_URL: url, PLATFORM_KEY: apiKey }) {
    return Response.json(await readGenerations(createClient({ url, apiKey })));
  },
};
