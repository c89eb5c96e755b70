import type { Classifier } from "./classifier.ts";
import { loadClassifiersFile, type ClassifierConfig, type ClassifiersConfig } from "./classifiers-file.ts";
import { createGuardModel } from "./guard-model.ts";
import { createOpenaiModerations } from "./openai-moderations.ts";
import { protectClassifier } from "./protect-classifier.ts";

/** By the name that rules use. */
export type Classifiers = ReadonlyMap<string, Classifier>;

/** @throws RepriseError `config_invalid` */
export async function loadClassifiers(
  { REPRISE_CLASSIFIERS_FILE: path }: { readonly REPRISE_CLASSIFIERS_FILE: string | undefined },
  env: Readonly<Record<string, string | undefined>>,
): Promise<Classifiers> {
  return createClassifiers(await loadClassifiersFile(path, env));
}

/** One for each of the file, by its name, protected from its outside; without I/O. Close them. */
export function createClassifiers(config: ClassifiersConfig): ReadonlyMap<string, Classifier> {
  return new Map([...config].map(([name, one]) => [name, protectClassifier(createAdapter(name, one), one)]));
}

function createAdapter(name: string, { kind, timeoutMs, ...options }: ClassifierConfig): Classifier {
  const create = kind === "guard" ? createGuardModel : createOpenaiModerations;
  return create({ ...options, name, connectTimeoutMs: timeoutMs });
}
