/** A binary min-heap of numbers in one growing typed array. */
export interface NumberHeap {
  readonly size: number;
  push(value: number): void;
  /** Removes and returns the smallest; the heap must not be empty. */
  pop(): number;
}

// The casts are safe because typed arrays are read within bounds.
export function createNumberHeap(): NumberHeap {
  let values = new Float64Array(1024);
  let size = 0;

  function grow(): void {
    const larger = new Float64Array(values.length * 2);
    larger.set(values);
    values = larger;
  }

  return {
    get size() {
      return size;
    },
    push(value) {
      if (size === values.length) grow();
      let at = size++;
      while (at > 0) {
        const parent = (at - 1) >> 1;
        const above = values[parent] as number;
        if (above <= value) break;
        values[at] = above;
        at = parent;
      }
      values[at] = value;
    },
    pop() {
      const smallest = values[0] as number;
      const value = values[--size] as number;
      let at = 0;
      for (let child = 1; child < size; child = 2 * at + 1) {
        if (child + 1 < size && (values[child + 1] as number) < (values[child] as number)) child++;
        const below = values[child] as number;
        if (below >= value) break;
        values[at] = below;
        at = child;
      }
      values[at] = value;
      return smallest;
    },
  };
}
