import { type ElementStep, isElement, type Path, pathText, SettingsConflict } from './change.ts';

/** A value and its range in the text. */
export interface Node {
  start: number;
  end: number;
  value: unknown;
  kind: 'map' | 'list' | 'scalar';
  /** Whether it is written with brackets. */
  isFlow: boolean;
  items: readonly Item[];
}

/** A member of a map or an element of a list. */
export interface Item {
  /** Undefined for an element. */
  key?: string;
  /** Start of the key, or of the dash of a block list. */
  start: number;
  node: Node;
}

/** Where a path leads as far as it exists. */
export interface Place {
  node: Node;
  /** The containers on the way, outermost first, each with the item that was taken. */
  way: { container: Node; item: Item }[];
  /** The steps that do not exist. */
  rest: Path;
}

/** Follows a path into a tree. */
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
    // Where a key stands twice, parsers take the last one.
    const item = node.items.findLast((each) =>
      isMember ? each.key === step : isElement(each.node.value, step as ElementStep),
    );
    if (item === undefined) return { node, way, rest: path.slice(i) };
    way.push({ container: node, item });
    node = item.node;
  }
  return { node, way, rest: [] };
}

/** Source of the value at a path; undefined where there is none. */
export function sourceAt(text: string, root: Node | undefined, path: Path): string | undefined {
  const place = root && follow(root, path);
  return place?.rest.length === 0 ? text.slice(place.node.start, place.node.end) : undefined;
}
