/**
 * Problems after a trial.
 *
 * - `lost`, `duplicated`, `reordered`: an event that one reader was not shown, was shown twice, or too late
 * - `foreign`: an event that another tenant's log has, or an answer to another tenant's key
 * - `unknown`: an event that is not in the log, byte for byte
 * - `log`: the log itself has a hole or begins or ends wrongly; `ends`: not exactly one end
 * - `unstored`: an event that the broker had acknowledged as stored, as its proxies have seen, is not in the log byte for byte
 * - `early_end`: a response that ended cleanly before the terminal event; `late_break`: one that broke after it, for no fault
 * - `text`: another text, or another usage, than the undisturbed run's
 * - `unjudged`: an event that was shown before moderation had cleared it, or that it has never judged; `decisions`: one made twice
 * - `conversation`: an engine was asked something else than the conversation so far, or a turn of it is lost, doubled or out of place
 * - `answer`: a create or a cancel that was answered is not in the log
 * - `lines`: a process has logged an outage in another number of lines than it is to
 * - `refused`: a reader or a caller got an error that no fault excuses
 * - `hung`: the trial was not over within its limit
 * - `no_fault`: the fault hit nothing, so nothing was tried
 * - `harness`: the row itself failed, or what the judge needs was not recorded
 */
export type ViolationKind =
  | "lost"
  | "duplicated"
  | "reordered"
  | "foreign"
  | "unknown"
  | "log"
  | "ends"
  | "unstored"
  | "early_end"
  | "late_break"
  | "text"
  | "unjudged"
  | "decisions"
  | "conversation"
  | "answer"
  | "lines"
  | "refused"
  | "hung"
  | "no_fault"
  | "harness";

export interface Violation {
  readonly kind: ViolationKind;
  /** In words, with the ids that it takes to look it up. */
  readonly what: string;
}
