const MATCHES = '[gw: matches under the name of their file]';

/** Undoes `groupListing`. */
export function ungroupListing(text: string): string {
  const [legend, ...lines] = text.split('\n');
  if (legend !== MATCHES) return text;
  let file = '';
  const out: string[] = [];
  for (const line of lines) {
    if (line.startsWith('## ')) file = line.slice(3);
    else out.push(/^\d+:/.test(line) ? `${file}:${line}` : line);
  }
  return out.join('\n');
}
