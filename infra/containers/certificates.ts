import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createSecretFile, replaceSecretFile } from "@reprise/runtime";
import {
  type CertifiedKey,
  createCertificateAuthority,
  isCertificateCurrent,
  issueCertificate,
} from "@reprise/runtime/certificates";

const AUTHORITY_DAYS = 3_650;
const VALID_DAYS = 730;
/** A certificate with less than this left is replaced at the next start of the project. */
const LEFT_DAYS = 90;

/** The project's own authority, from the first start on. Its key stays in the operator's volume. */
export async function openAuthority(operator: string): Promise<CertifiedKey> {
  const folder = join(operator, "tls");
  const there = await read(folder, "ca");
  if (there !== undefined) return there;
  const made = createCertificateAuthority("Reprise, internal", AUTHORITY_DAYS);
  await createSecretFile(join(folder, "ca.key"), made.key.trim());
  await createSecretFile(join(folder, "ca.crt"), made.cert.trim());
  return made;
}

/** Sees to it that a folder has a certificate of the authority for these names, `<name>.crt`, with its key beside it and `ca.crt`. */
export async function keepCertificate(
  authority: CertifiedKey,
  folder: string,
  name: string,
  names: readonly string[],
): Promise<void> {
  const there = await read(folder, name);
  if (there !== undefined && isCertificateCurrent(authority, there.cert, { names, days: LEFT_DAYS })) return;
  const made = issueCertificate(authority, { names, days: VALID_DAYS });
  await createSecretFile(join(folder, "ca.crt"), authority.cert.trim());
  await replaceSecretFile(join(folder, `${name}.key`), made.key);
  await replaceSecretFile(join(folder, `${name}.crt`), made.cert);
}

async function read(folder: string, name: string): Promise<CertifiedKey | undefined> {
  try {
    const [cert, key] = await Promise.all([
      readFile(join(folder, `${name}.crt`), "utf8"),
      readFile(join(folder, `${name}.key`), "utf8"),
    ]);
    return { cert, key };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
