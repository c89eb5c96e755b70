import { RepriseError } from "@reprise/protocol";

/**
 * Runs what touches a folder.
 * @param what the folder, as errors name it
 * @throws RepriseError `archive_unavailable` in place of what the operating system says
 */
export async function withFileErrors<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    // A wrong key: a defect of the caller, not the disk's.
    if (cause instanceof TypeError) throw cause;
    throw new RepriseError("archive_unavailable", `${what}: ${(cause as Error).message}`, { cause });
  }
}

export function hasFileCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? "");
}
