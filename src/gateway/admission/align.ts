/** Finds the blocks of a base in a prompt, in order. */
export type Align = (base: Int32Array) => Int32Array;

/** How many equal blocks are looked through for the next one. */
const MAX_STEPS = 32;

/**
 * Prepares a prompt for comparisons. The result of one has, for each block of the prompt, the place of the same block in
 * the base, or -1; places only grow. The common head and tail are found first, what lies between greedily: an alignment
 * that misses an equal block makes a bound looser, never wrong.
 */
export function createAlign(prompt: Int32Array): Align {
  const next = new Int32Array(prompt.length).fill(-1);
  const first = new Map<number, number>();
  for (let i = prompt.length - 1; i >= 0; i--) {
    const number = prompt[i] ?? 0;
    if (number === 0) continue;
    next[i] = first.get(number) ?? -1;
    first.set(number, i);
  }
  return (base) => {
    const places = new Int32Array(prompt.length).fill(-1);
    const most = Math.min(prompt.length, base.length);
    let head = 0;
    while (head < most && prompt[head] === base[head]) {
      places[head] = head;
      head++;
    }
    let tail = 0;
    while (tail < most - head && prompt[prompt.length - 1 - tail] === base[base.length - 1 - tail]) {
      places[prompt.length - 1 - tail] = base.length - 1 - tail;
      tail++;
    }
    const end = prompt.length - tail;
    let from = head;
    for (let j = head; j < base.length - tail && from < end; j++) {
      let i = first.get(base[j] ?? 0) ?? -1;
      for (let steps = 0; i >= 0 && i < from; steps++) i = steps < MAX_STEPS ? (next[i] ?? -1) : -1;
      if (i < 0 || i >= end) continue;
      places[i] = j;
      from = i + 1;
    }
    return places;
  };
}
