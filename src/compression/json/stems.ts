/** A key and a text made of its stem: `"forks_url"` and `~/forks`. */
export interface Made {
  key: string;
  text: string;
}

/** Keys with one ending, and texts that start alike and go on with the key's stem. */
export interface StemGroup {
  ending: string;
  start: string;
  /** The stems, each with what follows it in the text. */
  items: string[];
}

/** Fewer of them don't pay for the legend. */
const MIN_ITEMS = 4;
const KEY = /^"([A-Za-z][\w-]*?)(_[A-Za-z]+|[A-Z][a-z]+)"$/;
const REST = /^(?:[^\w\-,()"\\\n][^,()"\\\n]*)?$/;
const START = /^(?:[^()"\\\n]*\/|[^\w()"\\\n])$/;

/** The groups of texts that say their own key again, as the links of an API's answers do, by the keys in them. */
export function groupByStem(fields: Iterable<Made>): Map<string, StemGroup> {
  const groups = new Map<string, StemGroup>();
  const byKey = new Map<string, StemGroup>();
  for (const { key, text } of fields) {
    const [, stem = '', ending = ''] = KEY.exec(key) ?? [];
    const at = stem === '' ? 0 : startOfStem(text, stem);
    if (at === 0) continue;
    const start = text.slice(0, at);
    const rest = text.slice(at + stem.length);
    if (!START.test(start) || !REST.test(rest)) continue;
    const group = groups.get(`${ending} ${start}`) ?? { ending, start, items: [] };
    groups.set(`${ending} ${start}`, group);
    group.items.push(stem + rest);
    byKey.set(key, group);
  }
  for (const [key, group] of byKey) if (group.items.length < MIN_ITEMS) byKey.delete(key);
  return byKey;
}

/** A stem stands after a slash, or after the sign for a start that ends with one. */
function startOfStem(text: string, stem: string): number {
  return text.startsWith(stem, 1) ? 1 : text.indexOf(`/${stem}`) + 1;
}

/** `(forks,keys{/key_id})_url`: what stands for the keys of a group. */
export function writeStems({ items, ending }: StemGroup): string {
  return `(${items.join(',')})${ending}`;
}

/** The keys and texts of a group. */
export function readStems(items: string, ending: string, start: string): Made[] {
  return items.split(',').map((item) => {
    const stem = /^[\w-]*/.exec(item)?.[0] ?? '';
    return { key: `"${stem}${ending}"`, text: start + item };
  });
}
