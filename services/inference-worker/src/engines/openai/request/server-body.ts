import type { RequestPlaces } from "./placed-media.ts";
import type { RefusedFields } from "./refused-fields.ts";
import type { RequestBody } from "./request-body.ts";

/** A request as one server is sent it. */
export interface ServerBody extends RequestBody {
  /**
   * Returns a body that the server may take after it has refused this one, or undefined.
   * @param said the server's answer
   */
  renew(status: number, said: string): RequestBody | undefined;
  /** To be called once the server has taken a body: fields that were left out of it are never sent again. */
  accepted(): void;
}

/** Makes a request's body for the server of this place in the configuration. */
export type BodyFor = (replica: number) => ServerBody;

/** With these a server refuses a request for one of its fields. */
const REFUSES_FIELDS: ReadonlySet<number> = new Set([400, 422]);

/** A server may name one field at a time. */
const MAX_RENEWALS = 3;

export interface BodyOptions {
  readonly json: string;
  /** One for each server. */
  readonly refused: readonly RefusedFields[];
  /** Called for a field that requests are sent without from now on. */
  readonly onWithoutField?: ((name: string) => void) | undefined;
}

/** A server that refuses a field which the answer can do without is sent the request again without it, and so is every later one. */
export function createBodies(
  { toBody }: Pick<RequestPlaces, "toBody">,
  { json, refused, onWithoutField }: BodyOptions,
): BodyFor {
  return (replica) => {
    const fields = refused[replica]!;
    /** Fields that this request is sent without, until the server has taken it so. */
    const without = new Set<string>();
    let { count } = fields;
    let renewals = 0;
    return {
      ...toBody(fields.apply(json)),
      renew(status, said) {
        if (!REFUSES_FIELDS.has(status) || renewals++ >= MAX_RENEWALS) return undefined;
        const names = fields.find(fields.apply(json, without), said);
        // Another request may have learnt it meanwhile.
        const isLearnt = fields.count !== count;
        for (const name of names) without.add(name);
        ({ count } = fields);
        return names.length > 0 || isLearnt ? toBody(fields.apply(json, without)) : undefined;
      },
      accepted() {
        for (const name of fields.remember([...without])) onWithoutField?.(name);
      },
    };
  };
}
