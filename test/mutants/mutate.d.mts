export interface Mutant {
  start: number;
  end: number;
  to: string;
  line: number;
}

export function mutantsOf(source: string): Mutant[];
