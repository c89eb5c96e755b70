/** What one reader tells of its stream. */
export interface ReaderEvents {
  /** A token's due time, as it stands in the token. */
  onToken: (dueMicros: number) => void;
  /** A token that does not say when it was due; the first one of the stream is 0. */
  onCounted: (index: number) => void;
  onLost: () => void;
}
