import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from "node:crypto";
import { unixNow } from "@reprise/protocol";
import { encodeCertificate } from "./encode-certificate.ts";

/** A certificate and its private key, both as PEM. */
export interface CertifiedKey {
  readonly cert: string;
  readonly key: string;
}

const DAY_MS = 24 * 3_600_000;
/** Clocks of machines differ. */
const BACKDATED_MS = 3_600_000;

/** Makes an authority that signs for itself. Whoever has its key can pretend to be each server that trusts it. */
export function createCertificateAuthority(name: string, days: number): CertifiedKey {
  const key = newKey();
  const publicKey = createPublicKey(key);
  const signer = { issuer: name, issuerPublicKey: publicKey, issuerPrivateKey: key };
  const cert = encodeCertificate({
    subject: name,
    publicKey,
    ...signer,
    ...validFor(days),
    names: undefined,
  });
  return { cert, key: toPem(key) };
}

/** Makes a key and a certificate for these names and IPv4 addresses, for servers and clients alike. */
export function issueCertificate(
  authority: CertifiedKey,
  { names, days }: { readonly names: readonly string[]; readonly days: number },
): CertifiedKey {
  const issuerPrivateKey = createPrivateKey(authority.key);
  const issuerPublicKey = createPublicKey(issuerPrivateKey);
  const issuer = commonNameOf(new X509Certificate(authority.cert));
  const key = newKey();
  const signer = { issuer, issuerPublicKey, issuerPrivateKey };
  const publicKey = createPublicKey(key);
  const cert = encodeCertificate({
    subject: names[0] ?? "",
    publicKey,
    ...signer,
    ...validFor(days),
    names,
  });
  return { cert, key: toPem(key) };
}

/** Whether a certificate is signed by this authority, for exactly these names, and valid for so many days more. */
export function isCertificateCurrent(
  authority: CertifiedKey,
  cert: string,
  { names, days }: { readonly names: readonly string[]; readonly days: number },
): boolean {
  const read = new X509Certificate(cert);
  return (
    read.verify(createPublicKey(createPrivateKey(authority.key))) &&
    read.subjectAltName ===
      names.map((name) => `${/^[\d.]+$/.test(name) ? "IP Address" : "DNS"}:${name}`).join(", ") &&
    read.validToDate.getTime() - unixNow() > days * DAY_MS
  );
}

function validFor(days: number): { notBefore: Date; notAfter: Date } {
  const now = unixNow();
  return { notBefore: new Date(now - BACKDATED_MS), notAfter: new Date(now + days * DAY_MS) };
}

function commonNameOf(certificate: X509Certificate): string {
  // Node writes names as RFC 4514 has them.
  return (/^CN=(.*)$/m.exec(certificate.subject)?.[1] ?? "").replaceAll(/\\(.)/g, "$1");
}

function newKey(): KeyObject {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return createPrivateKey(toPem(privateKey));
}

function toPem(key: KeyObject): string {
  return String(key.export({ type: "pkcs8", format: "pem" }));
}
