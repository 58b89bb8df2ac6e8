const MATCHES = '[gw: matches under the name of their file]';
const PATHS = '[gw: each folder, then the names in it]';

/** Undoes `groupListing`. */
export function ungroupListing(text: string): string {
  const [legend, ...lines] = text.split('\n');
  if (legend === PATHS) {
    return lines
      .flatMap((line) => {
        const [folder, ...names] = line.split(' ');
        return names.length > 0 && folder?.endsWith('/:')
          ? names.map((name) => folder.slice(0, -1) + name)
          : [line];
      })
      .join('\n');
  }
  if (legend !== MATCHES) return text;
  let file = '';
  const out: string[] = [];
  for (const line of lines) {
    if (line.startsWith('## ')) file = line.slice(3);
    else out.push(/^\d+:/.test(line) ? `${file}:${line}` : line);
  }
  return out.join('\n');
}
