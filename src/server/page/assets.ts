import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { gzipSync } from 'node:zlib';
import { notFound, orElse } from '../../errors.ts';
import { FILES, PACKAGE } from '../../version.ts';

/** A file of the page as it is sent. */
export interface Asset {
  type: string;
  plain: Buffer;
  zipped: Buffer;
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Where the build has written the page. Tests run from the sources, and use the bundle's. */
const FOLDER = new URL(
  'page/',
  FILES.pathname.endsWith('/bundle/') ? FILES : new URL('dist/bundle/', PACKAGE),
);

/** Finds the page's files by their path in its folder. They are read at the first request. */
export function createAssets(): (path: string) => Asset {
  let assets: Map<string, Asset> | undefined;
  return (path) => {
    assets ??= readAssets();
    const asset = assets.get(path);
    if (asset) return asset;
    throw notFound(`the page has no file ${path}. Reload the page`, 'unknown_endpoint');
  };
}

function readAssets(): Map<string, Asset> {
  const names = orElse(() => readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }), []);
  const files = names.filter((name) => extname(name) in TYPES);
  return new Map(files.map((name) => [name.replaceAll('\\', '/'), readAsset(name)]));
}

function readAsset(name: string): Asset {
  const plain = readFileSync(new URL(name.replaceAll('\\', '/'), FOLDER));
  return { type: TYPES[extname(name)] ?? '', plain, zipped: gzipSync(plain, { level: 9 }) };
}
