import { isDeepStrictEqual } from "node:util";
import { type GenerationRequest, RepriseError } from "@reprise/protocol";
import { MESSAGE_ID_METADATA, RUN_ID_METADATA, THREAD_ID_METADATA } from "@reprise/projections";
import { type Principal, PROMPT_ROLES } from "@reprise/tenancy";

/** The names of metadata by which protocols find a run again, which clients' libraries make: they are allowed beside a template's. */
const RUN_NAMES: ReadonlySet<string> = new Set([THREAD_ID_METADATA, RUN_ID_METADATA, MESSAGE_ID_METADATA]);

/** Fields that are a page's own if its token has a template. */
const PAGES: ReadonlySet<string> = new Set(["input", "conversation", "previous_generation", "end_user"]);

/** The body of a create, whose model a token's template says where the page does not. */
export function withTemplateModel(body: unknown, { template }: Pick<Principal, "template">): unknown {
  if (!template || typeof body !== "object" || body === null || Array.isArray(body)) return body;
  return { model: template.model, ...body };
}

/**
 * A request as the caller's stream token permits it: with a template only the messages are the page's, and without one it brings no moderation rules of its
 * own, unless the token was minted so. API keys are not bound.
 * @throws RepriseError `forbidden` that names the field
 */
export function withToken(
  request: GenerationRequest,
  { tokenId, template, mayBringRules }: Pick<Principal, "tokenId" | "template" | "mayBringRules">,
): GenerationRequest {
  if (tokenId === undefined) return request;
  if (!template) {
    const rules = request.policy?.moderation?.rules ?? [];
    if (rules.length === 0 || mayBringRules) return request;
    throw refused("policy.moderation.rules", "the stream token was minted without the right to bring rules");
  }
  const { input: prompt = [], ...fixed } = template;
  const { metadata, ...rest } = request;
  const [names, others] = splitMetadata(metadata);
  const said = { ...rest, metadata: others };
  for (const [name, value] of Object.entries(said)) {
    if (value === undefined || PAGES.has(name)) continue;
    if (!isDeepStrictEqual(value, fixed[name as keyof typeof fixed]))
      throw refused(name, "is fixed by the stream token's template");
  }
  const { input, conversation } = request;
  const messages = typeof input === "string" ? [{ role: "user" as const, content: input }] : input;
  const index = messages.findIndex(({ role }) => PROMPT_ROLES.has(role));
  if (index !== -1)
    throw refused(
      `input.${index}.role`,
      "system and developer messages come only from the stream token's template",
    );
  return {
    ...rest,
    ...fixed,
    ...((names || fixed.metadata) && { metadata: { ...fixed.metadata, ...names } }),
    // A conversation's first turn has them as its instructions: see `prepareTurn`.
    input: prompt.length === 0 || conversation !== undefined ? input : [...prompt, ...messages],
  };
}

type Metadata = GenerationRequest["metadata"];

/** The names of a run, and all else; undefined where there is none of it. */
function splitMetadata(metadata: Metadata): readonly [names: Metadata, others: Metadata] {
  if (metadata === undefined) return [undefined, undefined];
  const [names, others] = [true, false].map((isName) =>
    Object.entries(metadata).filter(([name]) => RUN_NAMES.has(name) === isName),
  ) as [[string, string][], [string, string][]];
  const hasOthers = others.length > 0 || names.length === 0;
  return [
    names.length > 0 ? Object.fromEntries(names) : undefined,
    hasOthers ? Object.fromEntries(others) : undefined,
  ];
}

function refused(param: string, problem: string): RepriseError {
  return new RepriseError("forbidden", `${param}: ${problem}.`, { param });
}
