import { openSseReader } from "@reprise/testkit";
import { authorization, call, type Platform } from "./platform.ts";

const readJson = { accept: "application/json" };

/** Everything that a reader that comes now gets of a generation, by every call. */
export async function everyView(platform: Platform, path: string): Promise<string[]> {
  const fresh = await platform.addNode({ hubBytes: 1 });
  const views: string[] = [];
  for (const { url } of [platform.node, fresh]) {
    for (const after of ["", "1-1", "1-3"]) {
      await using reader = await openSseReader(`${url}${path}/events`, { headers: authorization(), after });
      await reader.ended;
      views.push(reader.bytes.toString());
      views.push((await call(`${url}${path}/events?after=${after}`, { headers: readJson })).text);
    }
    views.push((await call(`${url}${path}`)).text);
    views.push((await call(`${url}${path}/cancel`, { method: "POST" })).text);
  }
  return views;
}
