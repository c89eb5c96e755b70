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
  /** To be called once the server has taken a body: what that was without it is never sent again. */
  accepted(): void;
}

/** Makes a request's body for the server of this place in the configuration. @throws as `ServerFiles.idOf` */
export type BodyFor = (replica: number, options: UploadOptions) => Promise<ServerBody>;

/** With these a server may say that it does not know a file: what it says beside differs from server to server. */
const MAY_NOT_KNOW: ReadonlySet<number> = new Set([400, 404, 410, 422]);

/** With these a server refuses a request for one of its fields. */
const REFUSES_FIELDS: ReadonlySet<number> = new Set([400, 422]);

/** A server may name one field at a time. */
const MAX_RENEWALS = 3;

export interface BodyOptions {
  readonly json: string;
  readonly tenant: TenantId | undefined;
  /** Undefined for each where files go within the request. */
  readonly servers: readonly ServerFiles[];
  /** One for each server. */
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
  const make = async (replica: number, options: UploadOptions, without: ReadonlySet<string>) => {
    const ids = new Map<(typeof files)[number], string>();
    const old = new Set<string>();
    for (const file of files) {
      // Files are placed for a tenant alone.
      const { id, isNew } = await servers[replica]!.idOf(tenant!, file, options);
      ids.set(file, id);
      if (!isNew) old.add(id);
    }
    return { body: toBody(refused[replica]!.apply(json, without), ids), old: [...old] };
  };
  return async (replica, options) => {
    const fields = refused[replica]!;
    /** Fields that this request is sent without, until the server has taken it so. */
    const without = new Set<string>();
    let { count } = fields;
    const { body, old } = await make(replica, options, without);
    let mayUpload = old.length > 0;
    let renewals = 0;
    return {
      ...body,
      async renew(status, said) {
        if (REFUSES_FIELDS.has(status) && renewals++ < MAX_RENEWALS) {
          const names = fields.find(fields.apply(json, without), said);
          // Another request may have learnt it meanwhile.
          const isLearnt = fields.count !== count;
          for (const name of names) without.add(name);
          ({ count } = fields);
          if (names.length > 0 || isLearnt) return (await make(replica, options, without)).body;
        }
        if (!mayUpload || !MAY_NOT_KNOW.has(status)) return undefined;
        mayUpload = false;
        if (!(await servers[replica]!.forgetUnknown(old, options.signal))) return undefined;
        return (await make(replica, options, without)).body;
      },
      accepted() {
        for (const name of fields.remember([...without])) onWithoutField?.(name);
      },
    };
  };
}
