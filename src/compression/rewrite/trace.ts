/** The only transform that keeps every line in its place. */
const IN_PLACE = 'line-numbers';

/** The transforms applied to a message, and how complete its current text still is. */
export class Trace {
  readonly used = new Set<string>();
  /** Nothing of the text was left out. */
  exact = true;
  /** Each line has its line in the output. */
  inPlace = true;

  begin(): void {
    this.exact = true;
    this.inPlace = true;
  }

  /** Returns the text after a transform, and records the transform if it changed the text. */
  note(transform: string, before: string, after: string): string {
    if (after === before) return after;
    this.used.add(transform);
    if (transform !== IN_PLACE) this.inPlace = false;
    return after;
  }
}
