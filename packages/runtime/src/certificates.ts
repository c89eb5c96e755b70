import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from "node:crypto";
import { isIP } from "node:net";
import { AsnConvert, OctetString } from "@peculiar/asn1-schema";
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_clientAuth,
  id_kp_serverAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from "@peculiar/asn1-x509";
import { unixNow } from "@reprise/protocol";

/** A certificate and its private key, both as PEM. */
export interface CertifiedKey {
  readonly cert: string;
  readonly key: string;
}

interface CertificateContent {
  readonly subject: string;
  readonly issuer: Name;
  readonly days: number;
  readonly key: KeyObject;
  readonly issuerKey: KeyObject;
  /** Names and IPv4 addresses; undefined: an authority. */
  readonly names: readonly string[] | undefined;
}

const ECDSA_SHA256 = "1.2.840.10045.4.3.2";
const COMMON_NAME = "2.5.4.3";
const DAY_MS = 24 * 3_600_000;
/** Clocks of machines differ. */
const BACKDATED_MS = 3_600_000;

/** Makes an authority that signs its own certificate. Its key can sign for every server that trusts it. */
export function createCertificateAuthority(name: string, days: number): CertifiedKey {
  const key = newKey();
  const content = { subject: name, issuer: toName(name), days, key, issuerKey: key, names: undefined };
  return { cert: encodeCertificate(content), key: toPem(key) };
}

/** Makes a key and a certificate for these names and IPv4 addresses, for servers and clients alike. */
export function issueCertificate(
  authority: CertifiedKey,
  { names, days }: { readonly names: readonly string[]; readonly days: number },
): CertifiedKey {
  const { raw } = new X509Certificate(authority.cert);
  const issuer = AsnConvert.parse(raw, Certificate).tbsCertificate.subject;
  const key = newKey();
  const issuerKey = createPrivateKey(authority.key);
  const cert = encodeCertificate({ subject: names[0] ?? "", issuer, days, key, issuerKey, names });
  return { cert, key: toPem(key) };
}

/** Tells if this authority signed a certificate, for exactly these names, and if it is valid for this many more days. */
export function isCertificateCurrent(
  authority: CertifiedKey,
  cert: string,
  { names, days }: { readonly names: readonly string[]; readonly days: number },
): boolean {
  const read = new X509Certificate(cert);
  return (
    read.verify(createPublicKey(createPrivateKey(authority.key))) &&
    read.subjectAltName ===
      names.map((name) => `${isIP(name) === 4 ? "IP Address" : "DNS"}:${name}`).join(", ") &&
    read.validToDate.getTime() - unixNow() > days * DAY_MS
  );
}

function encodeCertificate({ subject, issuer, days, key, issuerKey, names }: CertificateContent): string {
  const now = unixNow();
  const spki = toSpki(key);
  const signatureAlgorithm = new AlgorithmIdentifier({ algorithm: ECDSA_SHA256 });
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    // The first byte keeps the number positive.
    serialNumber: toArrayBuffer(Buffer.concat([Buffer.of(1), randomBytes(15)])),
    signature: signatureAlgorithm,
    issuer,
    validity: new Validity({
      notBefore: new Date(now - BACKDATED_MS),
      notAfter: new Date(now + days * DAY_MS),
    }),
    subject: toName(subject),
    subjectPublicKeyInfo: AsnConvert.parse(spki, SubjectPublicKeyInfo),
    extensions: new Extensions([
      ...(names === undefined ? authorityExtensions() : endEntityExtensions(names)),
      extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(toKeyId(spki))),
      extension(
        id_ce_authorityKeyIdentifier,
        new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(toKeyId(toSpki(issuerKey))) }),
      ),
    ]),
  });
  const signed = Buffer.from(AsnConvert.serialize(tbsCertificate));
  const signatureValue = toArrayBuffer(sign("sha256", signed, issuerKey));
  const der = AsnConvert.serialize(new Certificate({ tbsCertificate, signatureAlgorithm, signatureValue }));
  return new X509Certificate(Buffer.from(der)).toString();
}

function authorityExtensions(): Extension[] {
  return [
    extension(id_ce_basicConstraints, new BasicConstraints({ cA: true }), true),
    extension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign), true),
  ];
}

function endEntityExtensions(names: readonly string[]): Extension[] {
  const altNames = names.map(
    (name) => new GeneralName(isIP(name) === 4 ? { iPAddress: name } : { dNSName: name }),
  );
  return [
    extension(id_ce_basicConstraints, new BasicConstraints(), true),
    extension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.digitalSignature), true),
    extension(id_ce_extKeyUsage, new ExtendedKeyUsage([id_kp_serverAuth, id_kp_clientAuth])),
    extension(id_ce_subjectAltName, new SubjectAlternativeName(altNames)),
  ];
}

function extension(extnID: string, value: object, critical = false): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}

function toName(commonName: string): Name {
  const value = new AttributeValue({ utf8String: commonName });
  return new Name([new RelativeDistinguishedName([new AttributeTypeAndValue({ type: COMMON_NAME, value })])]);
}

function toSpki(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: "spki", format: "der" });
}

function toKeyId(spki: Buffer): ArrayBuffer {
  return toArrayBuffer(createHash("sha256").update(spki).digest().subarray(0, 20));
}

function toArrayBuffer(bytes: Buffer): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

function newKey(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
}

function toPem(key: KeyObject): string {
  return String(key.export({ type: "pkcs8", format: "pem" }));
}
