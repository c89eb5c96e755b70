import { once } from "node:events";
import { X509Certificate } from "node:crypto";
import { connect, createServer } from "node:tls";
import { expect, test } from "vitest";
import { createCertificateAuthority, isCertificateCurrent, issueCertificate } from "./certificates.ts";

const DAY_MS = 24 * 3_600_000;
const NAMES = ["nats-1", "127.0.0.1"];
const authority = createCertificateAuthority("Reprise, internal", 3_650);

test("a client that trusts the authority talks to a server with its certificate, and shows one of its own", async () => {
  const server = issueCertificate(authority, { names: NAMES, days: 1 });
  const client = issueCertificate(authority, { names: ["a client"], days: 1 });
  const listening = createServer({
    ...server,
    ca: authority.cert,
    requestCert: true,
    rejectUnauthorized: true,
  });
  listening.listen(0, "127.0.0.1");
  await once(listening, "listening");
  const { port } = listening.address() as { port: number };
  const open = async (servername: string, own: object) => {
    const socket = connect({ host: "127.0.0.1", port, servername, ca: authority.cert, ...own });
    try {
      await once(socket, "secureConnect");
      return socket.getPeerCertificate().subject.CN;
    } finally {
      socket.destroy();
    }
  };
  try {
    expect(await open("nats-1", client)).toBe("nats-1");
    await expect(open("nats-2", client)).rejects.toThrow("does not match certificate's altnames");
    const others = createCertificateAuthority("Reprise, internal", 1);
    await expect(open("nats-1", { ...client, ca: others.cert })).rejects.toThrow("self-signed certificate");
  } finally {
    listening.close();
  }
});

test("a certificate says what it may be used for, by which key it was signed, and how long it is valid", () => {
  const root = new X509Certificate(authority.cert);
  const leaf = new X509Certificate(issueCertificate(authority, { names: NAMES, days: 10_000 }).cert);
  expect([root.ca, leaf.ca]).toEqual([true, false]);
  expect(leaf.checkIssued(root)).toBe(true);
  expect(leaf.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]);
  expect(leaf.subjectAltName).toBe("DNS:nats-1, IP Address:127.0.0.1");
  // Beyond 2050, where times are written in another way.
  const days = (certificate: X509Certificate) =>
    Math.floor((certificate.validToDate.getTime() - certificate.validFromDate.getTime()) / DAY_MS);
  expect([days(root), days(leaf)]).toEqual([3_650, 10_000]);
});

test("a certificate is current while it is of this authority, for these names and for long enough", () => {
  const { cert } = issueCertificate(authority, { names: NAMES, days: 10 });
  const isCurrent = (names: readonly string[], days: number, of = authority) =>
    isCertificateCurrent(of, cert, { names, days });
  expect(isCurrent(NAMES, 9)).toBe(true);
  expect(isCurrent(NAMES, 11)).toBe(false);
  expect(isCurrent(["nats-1"], 9)).toBe(false);
  expect(isCurrent(NAMES, 9, createCertificateAuthority("Reprise, internal", 1))).toBe(false);
});
