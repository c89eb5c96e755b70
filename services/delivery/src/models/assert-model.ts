import { EXTERNAL_MODEL, RepriseError } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";

/**
 * Throws unless a caller may use a model.
 * @param param the field that names it
 * @throws RepriseError `model_not_found`, `model_not_allowed`
 */
export function assertModel(
  { modelNames }: { readonly modelNames: () => ReadonlySet<string> },
  { models }: Pick<Principal, "models">,
  model: string,
  param = "model",
): void {
  if (!modelNames().has(model) && (model !== EXTERNAL_MODEL || param !== "model"))
    throw new RepriseError("model_not_found", `There is no model "${model}" here.`, { param });
  if (!models || models.has(model)) return;
  throw new RepriseError(
    "model_not_allowed",
    `The model "${model}" is not allowed for this tenant. Allowed: ${[...models].join(", ")}.`,
    { param },
  );
}
