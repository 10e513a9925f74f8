#!/usr/bin/env node
import { runCommand } from './main.ts';

process.exit(await runCommand({ args: process.argv.slice(2), environment: process.env }));
