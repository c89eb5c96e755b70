import type { TenantId } from "@reprise/protocol";
import type { RequestPlaces } from "../request/placed-media.ts";
import type { RefusedFields } from "../request/refused-fields.ts";
import type { RequestBody } from "../request/request-body.ts";
import type { UploadOptions } from "./files-api.ts";
import type { ServerFiles } from "./server-files.ts";

/** A request as one server is sent it. */
export interface ServerBody extends RequestBody {
  /**
   * Returns a body that the server may take after it has refused this one, or undefined.
   * @param said the server's answer
   * @throws the signal's reason
   */
  renew(status: number, said: string): Promise<RequestBody | undefined>;
}

/** Makes a request's body for the server of this place in the configuration. @throws as `ServerFiles.idOf` */
export type BodyFor = (replica: number, options: UploadOptions) => Promise<ServerBody>;

/** With these a server may say that it does not know a file: what it says beside differs from server to server. */
const MAY_NOT_KNOW: ReadonlySet<number> = new Set([400, 404, 410, 422]);

/** With these a server refuses a request for one of its fields. */
const REFUSES_FIELDS: ReadonlySet<number> = new Set([400, 422]);

export interface BodyOptions {
  readonly json: string;
  readonly tenant: TenantId | undefined;
  /** Undefined for each where files go within the request. */
  readonly servers: readonly ServerFiles[];
  /** Of each server. */
  readonly refused: readonly RefusedFields[];
  /** Called for a field that requests are sent without from now on. */
  readonly onWithoutField?: ((name: string) => void) | undefined;
}

/**
 * A request that names files is another one for each server, which calls them otherwise. Where a server refuses one with an id that was kept, it is
 * asked whether it still has the file; what it has not is uploaded again, once. Where it refuses a field that the answer can do without, the
 * request is sent again without that field, and so is every later one.
 */
export function createBodies(
  { files, toBody }: Pick<RequestPlaces, "files" | "toBody">,
  { json, tenant, servers, refused, onWithoutField }: BodyOptions,
): BodyFor {
  const make = async (replica: number, options: UploadOptions) => {
    const ids = new Map<(typeof files)[number], string>();
    const old = new Set<string>();
    for (const file of files) {
      // Files are placed for a tenant alone.
      const { id, isNew } = await servers[replica]!.idOf(tenant!, file, options);
      ids.set(file, id);
      if (!isNew) old.add(id);
    }
    return { body: toBody(refused[replica]!.apply(json), ids), old: [...old] };
  };
  return async (replica, options) => {
    const { body, old } = await make(replica, options);
    let mayUpload = old.length > 0;
    return {
      ...body,
      async renew(status, said) {
        const names = REFUSES_FIELDS.has(status)
          ? refused[replica]!.learn(refused[replica]!.apply(json), said)
          : [];
        for (const name of names) onWithoutField?.(name);
        if (names.length > 0) return (await make(replica, options)).body;
        if (!mayUpload || !MAY_NOT_KNOW.has(status)) return undefined;
        mayUpload = false;
        if (!(await servers[replica]!.forgetUnknown(old, options.signal))) return undefined;
        return (await make(replica, options)).body;
      },
    };
  };
}
