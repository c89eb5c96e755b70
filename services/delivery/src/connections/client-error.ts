import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import { RepriseError, toErrorBody, toHttpStatus } from "@reprise/protocol";
import { resetSocket } from "@reprise/runtime";
import { tcpSocketOf } from "./tls-connections.ts";
import { bareAnswerHeaders } from "../http/answer-headers.ts";

const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };

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
  const error = noProxy();
  endWith(socket, toHttpStatus(error.code), error);
}

/** Over HTTP/2 a CONNECT is a stream, and Node hands over its response. */
export function refuseConnectStream(_request: Http2ServerRequest, response: Http2ServerResponse): void {
  const error = noProxy();
  const headers = { ...bareAnswerHeaders(), ...JSON_TYPE };
  response.writeHead(toHttpStatus(error.code), headers).end(JSON.stringify(toErrorBody(error)));
}

function noProxy(): RepriseError {
  return new RepriseError("method_not_allowed", "This server is no proxy.");
}

/** Says an error past Node's HTTP server, and ends the connection. A client that has left does not hear it. */
export function endWith(socket: Duplex, status: number, error: RepriseError): void {
  const body = JSON.stringify(toErrorBody(error));
  const headers = {
    ...bareAnswerHeaders(),
    ...JSON_TYPE,
    "content-length": Buffer.byteLength(body),
    connection: "close",
    ...(error.retryAfterMs !== undefined && { "retry-after": Math.ceil(error.retryAfterMs / 1_000) }),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines].join("\r\n");
  socket.on("error", () => {});
  socket.end(`${head}\r\n\r\n${body}`, () => socket.destroy());
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
