/** The one transform that leaves every line in its place. */
const IN_PLACE = 'line-numbers';

/** What was done to the texts of a message, and what is still there of the one at hand. */
export class Trace {
  readonly used = new Set<string>();
  /** Nothing of the text was left out. */
  exact = true;
  /** Every line of it has its line in the output. */
  inPlace = true;

  begin(): void {
    this.exact = true;
    this.inPlace = true;
  }

  /** The text after a transform, which is noted where it changed something. */
  note(transform: string, before: string, after: string): string {
    if (after === before) return after;
    this.used.add(transform);
    if (transform !== IN_PLACE) this.inPlace = false;
    return after;
  }
}
