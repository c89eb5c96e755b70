import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createResumableStreamContext } from "resumable-stream";
import { serveParent } from "../../children/serve-parent.ts";

/** Another instance than the producer's, as any reader gets that comes back through a load balancer. */
const context = createResumableStreamContext({ waitUntil: null });

async function stream(id: string, response: ServerResponse): Promise<void> {
  const chunks = await context.resumeExistingStream(id);
  if (!chunks) return void response.writeHead(404).end();
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache, no-transform" });
  response.flushHeaders();
  for await (const chunk of chunks) {
    if (response.destroyed) return;
    response.write(chunk);
  }
  response.end();
}

const server = createServer((request, response) => {
  stream(request.url!.slice(1), response).catch((error: unknown) => {
    console.error(error);
    response.destroy();
  });
});

serveParent({
  async listen(): Promise<number> {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return (server.address() as AddressInfo).port;
  },
});
