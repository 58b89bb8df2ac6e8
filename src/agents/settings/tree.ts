import { type ElementStep, isElement, type Path, pathText, SettingsConflict } from './change.ts';

/** A value and its range in the text. */
export interface Node {
  start: number;
  end: number;
  value: unknown;
  kind: 'map' | 'list' | 'scalar';
  /** Whether the source has brackets. */
  isFlow: boolean;
  items: readonly Item[];
}

/** A member of a map or an element of a list. */
export interface Item {
  key?: string;
  /** Start of the key, or of the dash of a block list. */
  start: number;
  node: Node;
}

/** Result of following a path as far as it exists. */
export interface Place {
  node: Node;
  /** Containers along the path, outermost first, each with the selected item. */
  way: { container: Node; item: Item }[];
  /** Steps that don't exist. */
  rest: Path;
}

export function follow(root: Node, path: Path): Place {
  const way: Place['way'] = [];
  let node = root;
  for (const [i, step] of path.entries()) {
    const isMember = typeof step === 'string';
    if (node.kind === 'scalar' && node.value === null) return { node, way, rest: path.slice(i) };
    if (node.kind !== (isMember ? 'map' : 'list')) {
      throw new SettingsConflict(
        `${pathText(path.slice(0, i)) || 'the whole file'} is not ${isMember ? 'an object' : 'a list'}`,
      );
    }
    // If a key is duplicated, parsers take the last one.
    const item = node.items.findLast((each) =>
      isMember ? each.key === step : isElement(each.node.value, step as ElementStep),
    );
    if (item === undefined) return { node, way, rest: path.slice(i) };
    way.push({ container: node, item });
    node = item.node;
  }
  return { node, way, rest: [] };
}

/** Source text of the value at a path; undefined if there is none. */
export function sourceAt(text: string, root: Node | undefined, path: Path): string | undefined {
  const place = root && follow(root, path);
  return place?.rest.length === 0 ? text.slice(place.node.start, place.node.end) : undefined;
}
