import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import { RepriseError, toHttpStatus } from "@reprise/protocol";
import { resetSocket } from "@reprise/service";
import { tcpSocketOf } from "./tls-connections.ts";
import { answerHeaderLines } from "../http/answer-headers.ts";

/**
 * Answers what is not an HTTP request, or never became one, and ends the connection. On a connection that has carried an
 * answer nothing is said: one may still be under way, and this would land in the middle of it. A reset tells its reader that
 * it is incomplete; where the answer is complete and the connection is being closed, that is merely not waited for.
 */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed) return;
  if (socket.bytesWritten > 0 || !socket.writable) {
    resetSocket(tcpSocketOf(socket));
    return;
  }
  const { status, message } = describe(error.code);
  endWith(socket, status, new RepriseError("invalid_request", message));
}

/** Node hands over the connection of a CONNECT, which no route can answer. */
export function refuseConnect(_request: IncomingMessage, socket: Duplex): void {
  const error = new RepriseError("method_not_allowed", "This server is no proxy.");
  endWith(socket, toHttpStatus(error.code), error);
}

/** Says an error past Node's HTTP server, and ends the connection. A client that has left does not hear it. */
export function endWith(socket: Duplex, status: number, error: RepriseError): void {
  const body = JSON.stringify(error.toBody());
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...answerHeaderLines(),
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  if (error.retryAfterMs !== undefined) head.push(`retry-after: ${Math.ceil(error.retryAfterMs / 1_000)}`);
  socket.on("error", () => {});
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

function describe(code: string | undefined): { status: number; message: string } {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { status: 408, message: "The request did not arrive in time." };
    case "HPE_HEADER_OVERFLOW":
      return { status: 431, message: "The request's headers are too large." };
    default:
      return { status: 400, message: "This is not an HTTP request." };
  }
}
