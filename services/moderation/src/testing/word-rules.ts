import type { ModerationAction } from "@reprise/protocol";
import type { RuleFinding, RuleSet, Scanner } from "@reprise/moderation";

/** Rules of plain words, found anywhere: slow, and simple enough to be right at sight. */
export function wordRules(words: Readonly<Record<string, ModerationAction>>): RuleSet {
  return {
    id: "words",
    judgedBy: { rule_set: "words" },
    classifiers: [],
    bytes: 0,
    steps: 0,
    pieceLength: 512,
    createScanner: () => createScanner(words),
  };
}

function createScanner(words: Readonly<Record<string, ModerationAction>>): Scanner {
  let text = "";
  let from = 0;
  let pending = 0;
  return {
    get length() {
      return text.length;
    },
    get pending() {
      return pending;
    },
    push(more) {
      text += more;
      const findings: RuleFinding[] = [];
      for (let at = from; at < text.length; at++) {
        const word = Object.keys(words).find((one) => text.startsWith(one, at));
        if (word === undefined) continue;
        from = at + word.length;
        findings.push({ rule: word, category: "word", action: words[word]!, from: at, to: from });
        at = from - 1;
      }
      pending = 0;
      for (let at = Math.max(from, text.length - 16); at < text.length; at++) {
        const rest = text.slice(at);
        if (Object.keys(words).some((word) => word.startsWith(rest))) {
          pending = text.length - at;
          break;
        }
      }
      from = Math.max(from, text.length - pending);
      return findings;
    },
    // A word is found with its last letter: what is pending is never one.
    settle: () => [],
    end() {
      pending = 0;
      return [];
    },
  };
}
