import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createCertificateAuthority, issueCertificate } from "@reprise/runtime/certificates";

/** One certificate authority, and what it has signed, as PEM files in a folder. */
export interface TestCertificates {
  /** The authority's own certificate. */
  readonly ca: string;
  /** A certificate for these names or IPv4 addresses, and its key: for a server and for a client alike. */
  issue(name: string, subjects: readonly string[]): Promise<{ cert: string; key: string }>;
}

const DAYS = 3_650;

/** Makes an authority of its own, with keys that live in `dir` only. */
export async function createTestCertificates(dir: string): Promise<TestCertificates> {
  await mkdir(dir, { recursive: true });
  const authority = createCertificateAuthority("Reprise test authority", DAYS);
  const write = async (name: string, content: string) => {
    const path = join(dir, name);
    await writeFile(path, content, { mode: 0o600 });
    return path;
  };
  return {
    ca: await write("ca.pem", authority.cert),
    async issue(name, subjects) {
      const { cert, key } = issueCertificate(authority, { names: subjects, days: DAYS });
      return { cert: await write(`${name}.pem`, cert), key: await write(`${name}.key`, key) };
    },
  };
}
