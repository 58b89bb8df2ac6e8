/** Where the page is: `#/requests/req_1?status=failed`. The fragment is the page's only state, and stays in the browser. */
export interface Address {
  /** Empty for the first view. */
  view: string;
  id: string | undefined;
  parameters: Readonly<Record<string, string>>;
}

type Parameters = Readonly<Record<string, string | undefined>>;

export function parseAddress(hash: string): Address {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [view = '', ...rest] = path.split('/');
  const id = rest.length === 0 ? undefined : decode(rest.join('/'));
  return { view, id, parameters: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a view; parameters that are undefined or empty are left out. */
export function hrefOf(view: string, parameters: Parameters = {}, id?: string): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const query = new URLSearchParams(given);
  const path = id === undefined ? view : `${view}/${encodeURIComponent(id)}`;
  return `#/${path}${query.size === 0 ? '' : `?${query}`}`;
}

/** Changes parameters of the present address. */
export function change(parameters: Parameters): void {
  const { view, id, parameters: present } = parseAddress(location.hash);
  location.hash = hrefOf(view, { ...present, ...parameters }, id);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The conditions of lists and reports, as parameters of the address. */
export const CONDITIONS = [
  'project_id',
  'model',
  'agent',
  'repo',
  'key',
  'session',
  'label',
  'status',
] as const;
type Condition = (typeof CONDITIONS)[number];

export function conditionsIn({ parameters }: Address): Partial<Record<Condition, string>> {
  return Object.fromEntries(
    CONDITIONS.flatMap((name) => (parameters[name] ? [[name, parameters[name]]] : [])),
  );
}
