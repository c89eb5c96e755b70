import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext, type Server } from "node:tls";
import { RepriseError } from "@reprise/protocol";
import type { Logger } from "@reprise/runtime";

/** Paths of PEM files. */
export interface CertificateFiles {
  /** The certificate, followed by the intermediate certificates. */
  readonly cert: string;
  /** Its private key. */
  readonly key: string;
}

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** @throws RepriseError `config_invalid` when a file can't be read, or the two do not belong together */
export async function readCertificate(files: CertificateFiles): Promise<Certificate> {
  try {
    const [cert, key] = await Promise.all([readFile(files.cert, "utf8"), readFile(files.key, "utf8")]);
    createSecureContext({ cert, key });
    return { cert, key };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new RepriseError(
      "config_invalid",
      `The certificate in ${files.cert} with the key in ${files.key} cannot be used: ${why}`,
      { cause },
    );
  }
}

export interface CertificateWatchOptions {
  readonly server: Server;
  readonly files: CertificateFiles;
  /** The one that the server has. */
  readonly present: Certificate;
  readonly logger: Logger;
  readonly everyMs: number;
}

/**
 * Has a server use a renewed certificate for the connections that come from then on. The files are compared at intervals: a watch of the file
 * system sees nothing where a folder is replaced by a link, as Kubernetes does. A pair that can't be used is logged once, and the old one stays: the two
 * files are not replaced in one step.
 */
export class CertificateWatch implements Disposable {
  readonly #options: CertificateWatchOptions;
  readonly #timer: NodeJS.Timeout;
  #present: Certificate;
  #problem: string | undefined;

  /** When the one in use expires, in seconds since 1970. */
  get expiresAtS(): number {
    return new X509Certificate(this.#present.cert).validToDate.getTime() / 1_000;
  }

  constructor(options: CertificateWatchOptions) {
    this.#options = options;
    this.#present = options.present;
    this.#timer = setInterval(() => void this.#compare(), options.everyMs).unref();
  }

  async #compare(): Promise<void> {
    const { server, files, logger } = this.#options;
    try {
      const { cert, key } = await readCertificate(files);
      this.#problem = undefined;
      if (cert === this.#present.cert && key === this.#present.key) return;
      server.setSecureContext({ cert, key });
      this.#present = { cert, key };
      logger.info({ expires: new X509Certificate(cert).validTo }, "the renewed certificate is in use");
    } catch (err) {
      const problem = String(err);
      if (problem !== this.#problem) logger.error({ err }, "the certificate stays as it was");
      this.#problem = problem;
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
