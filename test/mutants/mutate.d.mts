interface Range {
  start: number;
  end: number;
}

export interface Mutant extends Range {
  to: string;
  whole: Range;
  line: number;
}

export function mutantsOf(source: string): Mutant[];
export function withSwitches(source: string, mutants: (Omit<Mutant, 'line'> & { number: number })[]): string;
