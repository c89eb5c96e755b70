import { isDeepStrictEqual } from "node:util";
import { type GenerationRequest, RepriseError } from "@reprise/protocol";
import { type Principal, PROMPT_ROLES } from "@reprise/tenancy";

/** What a page says itself where its token has a template. */
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
  for (const [name, value] of Object.entries(request)) {
    if (value === undefined || PAGES.has(name)) continue;
    if (!isDeepStrictEqual(value, fixed[name as keyof typeof fixed]))
      throw refused(name, "is fixed by the stream token's template");
  }
  const { input } = request;
  const messages = typeof input === "string" ? [{ role: "user" as const, content: input }] : input;
  const index = messages.findIndex(({ role }) => PROMPT_ROLES.has(role));
  if (index !== -1) throw refused(`input.${index}.role`, "the stream token's template says the prompt");
  return { ...request, ...fixed, input: prompt.length === 0 ? input : [...prompt, ...messages] };
}

function refused(param: string, problem: string): RepriseError {
  return new RepriseError("forbidden", `${param}: ${problem}.`, { param });
}
