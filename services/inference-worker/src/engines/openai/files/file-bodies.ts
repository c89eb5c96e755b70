import type { TenantId } from "@reprise/protocol";
import type { RequestPlaces } from "../request/placed-media.ts";
import type { RequestBody } from "../request/request-body.ts";
import type { UploadOptions } from "./files-api.ts";
import type { ServerFiles } from "./server-files.ts";

/** A request as one server is sent it. */
export interface ServerBody extends RequestBody {
  /** To be asked once the server has refused the request: a body that it may take, or undefined. @throws the signal's reason */
  renew(status: number): Promise<RequestBody | undefined>;
}

/** Makes a request's body for the server of this place in the configuration. @throws as `ServerFiles.idOf` */
export type BodyFor = (replica: number, options: UploadOptions) => Promise<ServerBody>;

/** With these a server may say that it does not know a file: what it says beside differs from server to server. */
const MAY_NOT_KNOW: ReadonlySet<number> = new Set([400, 404, 410, 422]);

/**
 * A request that names files is another one for each server, which calls them otherwise. Where a server refuses one with an id that was kept, it is
 * asked whether it still has the file; what it has not is uploaded anew, once.
 * @param servers undefined where files go within the request
 */
export function createBodies(
  { files, toBody }: Pick<RequestPlaces, "files" | "toBody">,
  { json, tenant, servers }: { json: string; tenant: TenantId | undefined; servers: readonly ServerFiles[] },
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
    return { body: toBody(json, ids), old: [...old] };
  };
  return async (replica, options) => {
    const { body, old } = await make(replica, options);
    return {
      ...body,
      async renew(status) {
        if (old.length === 0 || !MAY_NOT_KNOW.has(status)) return undefined;
        if (!(await servers[replica]!.forgetUnknown(old, options.signal))) return undefined;
        return (await make(replica, options)).body;
      },
    };
  };
}
