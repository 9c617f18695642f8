// The schema files, read as they are: which methods there are, and what their params
// must look like. A validator from the registry does the work.
import fs from 'node:fs';
import Ajv2020 from 'ajv/dist/2020.js';
import { ProtocolError, nearest } from './errors.js';

const directory = new URL('../../schema/json/', import.meta.url);
// The files are held against the language of schemas by the tests of those who write them. That,
// and code that is made short, would be half of the time that this server takes to start.
const ajv = new Ajv2020({
  strict: false, verbose: true, validateFormats: false, meta: false, validateSchema: false, inlineRefs: false, code: { optimize: false },
});
const methods = new Map();

for (const name of fs.readdirSync(directory)) {
  if (!name.endsWith('.schema.json')) continue;
  const schema = JSON.parse(fs.readFileSync(new URL(name, directory)));
  ajv.addSchema(schema);
  const about = schema['x-shelld'];
  if (about?.method && about.from === 'client') methods.set(about.method, { ...about, id: schema.$id });
}

// checkParams throws invalidParams where params do not fit the method's schema.
export function checkParams(method, params) {
  const about = methods.get(method);
  about.validate ??= ajv.getSchema(`${about.id}#/$defs/params`); // compiled when it is needed first
  if (!about.validate(params)) {
    const errors = about.validate.errors.map(fieldError);
    const first = errors[0];
    throw new ProtocolError('invalidParams', `${method}: ${first.pointer || 'params'}: ${first.message}`, { errors });
  }
  if (hasLoneSurrogate(params)) {
    const errors = [{ pointer: '', message: 'half of a surrogate pair stands for no bytes' }];
    throw new ProtocolError('invalidParams', `${method}: ${errors[0].message}`, { errors });
  }
}

function fieldError({ instancePath, keyword, params, parentSchema, message }) {
  const expected = parentSchema?.['x-expected'];
  if (keyword === 'additionalProperties') {
    const name = params.additionalProperty;
    const near = nearest(name, Object.keys(parentSchema.properties ?? {}), 1);
    const pointer = `${instancePath}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    return { pointer, message: `there is no member ${JSON.stringify(name)}`, ...(near.length > 0 && { didYouMean: near[0] }) };
  }
  const allowed = keyword === 'enum' ? params.allowedValues : undefined;
  return { pointer: instancePath, message: expected ? `must be ${expected}` : message, ...(allowed && { allowed }) };
}

function hasLoneSurrogate(value) {
  if (typeof value === 'string') return /\p{Surrogate}/u.test(value);
  if (value === null || typeof value !== 'object') return false;
  return Object.entries(value).some(([k, v]) => hasLoneSurrogate(k) || hasLoneSurrogate(v));
}
