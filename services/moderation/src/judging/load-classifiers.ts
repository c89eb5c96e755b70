import type { Classifier } from "../classifiers/classifier.ts";
import { loadClassifiersFile } from "../classifiers/classifiers-file.ts";
import { createClassifiers } from "../classifiers/create-classifiers.ts";

/** By the name that rules use. */
export type Classifiers = ReadonlyMap<string, Classifier>;

/** @throws RepriseError `config_invalid` */
export async function loadClassifiers(
  { REPRISE_CLASSIFIERS_FILE: path }: { readonly REPRISE_CLASSIFIERS_FILE: string | undefined },
  env: Readonly<Record<string, string | undefined>>,
): Promise<Classifiers> {
  return createClassifiers(await loadClassifiersFile(path, env));
}
