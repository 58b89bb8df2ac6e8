/** Reads requests as applications on Express do: paths in any case, with or without a slash at the end. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// The packages are in a cache beside the checkout's own.
const require = createRequire(join(process.argv[2], 'package.json'));
const express = require('express');
const multer = require('multer');
const programs = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (name) => JSON.parse(readFileSync(join(programs, name), 'utf8'));
const fields = read('fields.json');

const app = express();
app.set('query parser', 'extended');
app.use(
  express.json({ type: (request) => !/form/i.test(request.headers['content-type'] ?? ''), strict: false }),
);
app.use(express.urlencoded({ extended: true }));
app.use(multer().any());
const reader = (route) => (request, response) => {
  const { body, files = [], query } = request;
  const isForm = /form/i.test(request.headers['content-type'] ?? '');
  // Without a body, Express has an empty object.
  const hasBody = request.headers['content-length'] !== '0';
  const values = {};
  for (const field of fields) {
    const own = (of) => (of && Object.hasOwn(of, field) ? [of[field]].flat(3) : []);
    const inFiles = files
      .filter(({ fieldname }) => fieldname === field)
      .map(({ buffer }) => buffer.toString('latin1'));
    values[field] = [...own(query), ...own(body), ...inFiles].filter((value) => value !== null);
  }
  const { method, path } = request;
  response.json({
    method,
    path: decodeURIComponent(path),
    route,
    values,
    tree: isForm || !hasBody ? null : (body ?? null),
  });
};
for (const route of read('routes.json')) app.all(route.replaceAll('{id}', ':id'), reader(route));
app.use(reader(null));
app.use((error, _request, response, _next) =>
  response.status(error.status ?? 500).json({ error: error.message }),
);
const server = app.listen(0, '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
