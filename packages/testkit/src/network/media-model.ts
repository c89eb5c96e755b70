import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A model server that is sent one file within a request, and keeps nothing of it. */
export interface MediaModel extends AsyncDisposable {
  readonly baseUrl: string;
  /** The last request: its bytes, and the SHA-256 of the first data URL's base64 in it. */
  readonly received: () => { readonly bytes: number; readonly sha256: string };
}

const QUOTE = 0x22;
const MARK = ";base64,";

/** @param onPiece called with the number of bytes for each piece of a request that comes in */
export async function startMediaModel(onPiece: (bytes: number) => void = () => {}): Promise<MediaModel> {
  let received = { bytes: 0, sha256: "" };
  const server = createServer((request, response) => {
    // Whether it is there: this will do.
    if (request.method !== "POST") return void response.writeHead(404).end();
    const sum = createHash("sha256");
    let head: string | undefined = "";
    let isOver = false;
    let bytes = 0;
    request.on("data", (piece: Buffer) => {
      bytes += piece.length;
      onPiece(piece.length);
      let rest = piece;
      if (head !== undefined) {
        head += piece.toString("latin1");
        const at = head.indexOf(MARK);
        if (at === -1) return;
        rest = Buffer.from(head.slice(at + MARK.length), "latin1");
        head = undefined;
      }
      if (isOver) return;
      const end = rest.indexOf(QUOTE);
      isOver = end !== -1;
      sum.update(isOver ? rest.subarray(0, end) : rest);
    });
    request.on("end", () => {
      received = { bytes, sha256: sum.digest("hex") };
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`${toChunk({ content: "Read." }, null)}${toChunk({}, "stop")}data: [DONE]\n\n`);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    received: () => received,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The SHA-256 of the base64 of a content that is one piece again and again, without the content in memory. */
export function base64HashOf(piece: Buffer, bytes: number): string {
  const sum = createHash("sha256");
  // Three of them have no rest in base64.
  const three = Buffer.concat([piece, piece, piece]);
  const whole = three.toString("base64");
  for (let sent = 0; sent < bytes; sent += three.length) {
    const left = bytes - sent;
    sum.update(left >= three.length ? whole : Buffer.alloc(left, piece).toString("base64"));
  }
  return sum.digest("hex");
}

function toChunk(delta: object, finishReason: string | null): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finishReason }] })}\n\n`;
}
