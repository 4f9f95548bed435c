package deps

import "strings"

// wellKnown are packages of npm whose names programs misspell.
var wellKnown = strings.Fields(`
	@babel/core @faker-js/faker @prisma/client @reduxjs/toolkit adm-zip ajv amqplib archiver async ava axios bcrypt bcryptjs better-sqlite3
	big.js bignumber.js bluebird body-parser boxen bull bullmq chai chalk chart.js cheerio chokidar classnames cli-table3 colors commander
	compression cookie-parser cors cron crypto-js csv-parse csv-parser d3 date-fns dayjs debug decimal.js dotenv effect ejs esbuild eslint
	exceljs execa express express-rate-limit express-validator fast-xml-parser fastify figlet form-data fp-ts fs-extra fuse.js glob got
	graphql handlebars helmet hono immer immutable inquirer ioredis jest jimp joi js-yaml jsdom jsonwebtoken jszip kafkajs knex koa
	lodash lodash-es lru-cache luxon markdown-it marked mathjs mime-types minimist mocha moment moment-timezone mongodb mongoose morgan
	mssql msw multer mustache mysql mysql2 nanoid natural next nock node-cache node-cron node-fetch nodemailer openai ora p-limit p-queue
	p-retry papaparse passport pdf-lib pdfkit pg pino playwright preact prettier pug puppeteer ramda react react-dom react-router-dom
	redis redux rimraf rollup rxjs semver sequelize sharp shelljs simple-statistics sinon socket.io sqlite3 stripe superagent supertest
	svelte tape three typeorm typescript underscore uuid validator vite vitest vue webpack winston xlsx xml2js yaml yargs yup zod zustand`)

// misspelt returns which well-known package a name that npm does not have may mean, as
// what to append to the reason, or "".
func misspelt(name string) string {
	best, least := "", 1+min(len(name)/4, 2)
	for _, known := range wellKnown {
		if d := distance(name, known); d < least {
			best, least = known, d
		}
	}
	if best == "" || best == name {
		return ""
	}
	return ": did you mean " + best + "?"
}

// distance returns how many letters must be added, left out, replaced or swapped with the
// next to make b of a, at most 3.
func distance(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 || len(a) > 50 {
		return 3
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
