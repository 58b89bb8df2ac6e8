/** Finds the blocks of a base in a prompt, in order. */
export type Align = (base: Int32Array) => Int32Array;

/** How many equal blocks are looked through for the next one. */
const MAX_STEPS = 32;

/**
 * Prepares a prompt for comparisons. The result of one has, for each block of the prompt, the place of the same block in
 * the base, or -1; places only grow. The common head, with single blocks in it that were replaced, and the common tail
 * are found first, what lies between greedily: an alignment that misses an equal block makes a bound looser, never wrong.
 */
export function createAlign(prompt: Int32Array): Align {
  let index: Index | undefined;
  return (base) => {
    const places = new Int32Array(prompt.length).fill(-1);
    const head = alignHead(prompt, base, places);
    const tail = alignTail(prompt, base, places, head);
    const end = prompt.length - tail;
    const baseEnd = base.length - tail;
    if (head === end || head === baseEnd) return places;
    index ??= indexOf(prompt);
    let from = head;
    for (let j = head; j < baseEnd && from < end; j++) {
      let i = index.first.get(base[j] ?? 0) ?? -1;
      for (let steps = 0; i >= 0 && i < from; steps++) i = steps < MAX_STEPS ? (index.next[i] ?? -1) : -1;
      if (i < 0 || i >= end) continue;
      places[i] = j;
      from = i + 1;
    }
    return places;
  };
}

/** Aligns equal places until two in a row differ. Returns where it stopped. */
function alignHead(prompt: Int32Array, base: Int32Array, places: Int32Array): number {
  const most = Math.min(prompt.length, base.length);
  let head = 0;
  for (; head < most; head++) {
    if (prompt[head] === base[head]) places[head] = head;
    else if (head + 1 >= most || prompt[head + 1] !== base[head + 1]) break;
  }
  return head;
}

/** Aligns what is equal from the end on. Returns how many blocks that are. */
function alignTail(prompt: Int32Array, base: Int32Array, places: Int32Array, head: number): number {
  const most = Math.min(prompt.length, base.length) - head;
  let tail = 0;
  while (tail < most && prompt[prompt.length - 1 - tail] === base[base.length - 1 - tail]) {
    places[prompt.length - 1 - tail] = base.length - 1 - tail;
    tail++;
  }
  return tail;
}

/** Where each block of a prompt stands first, and where the next equal one stands. */
interface Index {
  first: Map<number, number>;
  next: Int32Array;
}

function indexOf(prompt: Int32Array): Index {
  const first = new Map<number, number>();
  const next = new Int32Array(prompt.length).fill(-1);
  for (let i = prompt.length - 1; i >= 0; i--) {
    const number = prompt[i] ?? 0;
    if (number === 0) continue;
    next[i] = first.get(number) ?? -1;
    first.set(number, i);
  }
  return { first, next };
}
