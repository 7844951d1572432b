"""The words that texts are made of: everyday English, chosen by hand, ASCII only.

Most are one token in common vocabularies, so that text made of them has about as many characters a token as
ordinary writing.  Changing a list changes every prompt that a seed gives: raise `TEXT_VERSION` in `make` with it.
"""

from typing import Final

__all__ = [
    "ACTIONS",
    "ADJECTIVES",
    "ADVERBS",
    "CITIES",
    "CODE_NOUNS",
    "CODE_VERBS",
    "FAMILY_NAMES",
    "GIVEN_NAMES",
    "NOUNS",
    "PLACES",
    "PLURALS",
    "TIMES",
    "WENT",
]

_NOUNS: Final = """
account address advice afternoon agreement angle animal answer apple argument army arrow article artist autumn axle
badge bag balance ball band bank barrel basket battery beach beam bean bear bed bell bench bicycle bill bird blanket
block board boat body bolt bone book border bottle boundary bowl box brake branch bread breath brick bridge brush
bucket budget building bulb bundle bush butter button cabin cable cake camera canal candle canvas card carpet carriage
case castle catalogue ceiling cellar chain chair chalk chapter chart chest chimney choice circle circuit city clay
clerk cliff clock cloth cloud coast coat coffee coin collar college colour column comb committee compass concert
contract copper copy corner cotton counter country course court cover crane crate cream crew crop crowd crown cup
current curtain curve custom damage dance danger debt deck decision degree delay design desk detail device diary
dinner direction discovery dish distance ditch doctor door doubt drawer drawing dream dress drum dust ear earth edge
education effect egg election elevator end engine enquiry entrance envelope error estimate event evidence exam example
exchange exercise expert eye fabric face factory fall family farm farmer feather feeling fence ferry field figure film
finger fire fish flag flame flight flood floor flour flower fog folder food foot forecast forest fork form fountain
frame friend frost fruit fuel furnace future game garden gate gear glass glove goat gold grain grass group growth
guard guess guest guide hall hammer hand handle hat head heart heat hedge hill hinge history hobby hole holiday home
honey hook hope horn horse hospital hour house idea index ink insect interest iron island jacket jar jewel job
journey judge juice jump key kettle kitchen knee knife knot ladder lake lamp land language law lawyer layer lead leaf
leather lecture leg lemon lesson letter level library lid light limit line linen lion list lock log loss machine
manager map margin mark market mask mass match material meal measure meat medal meeting member memory metal method
middle mile mill mind mine minute mirror mistake model moment money month moon morning motor mountain mouth movement
museum music nail name nation neck needle nerve nest net news night noise north nose note notice number nurse oak
object ocean offer office oil onion opinion orange orchard order organ outcome oven owner page pain paint pair palace
pan paper parcel park part partner party passage path pattern payment peace pen pencil pension people pepper person
phone photograph piano picture piece pig pilot pin pipe place plan plane plant plate platform play pleasure plough
pocket poem point policy pond port position post pot potato powder power price print prison problem process produce
profit project promise proof property protest pump purpose quality question queue rail rain range rate ray reaction
reader reason receipt record region relation report request rest result reward rhythm rice ring river road rock rod
roll roof room root rope route rubber rule sail salt sample sand scale schedule school science screen screw sea season
seat secret sector seed sense shade shadow shape share sheep sheet shelf shell shield ship shirt shock shoe shop shore
shoulder show side sign signal silk silver sister size skin skirt sky sleep slope smell smile smoke snow soap society
sock soil soldier song sound soup south space spade speed spoon spring square staff stage stair stamp star station
statue steam steel stem step stick stitch stock stomach stone stop store storm story stove stranger straw stream
street string structure student study sugar suit summer sun support surface surprise swim switch system table tail
tailor talk tank task taste tax teacher team telephone tent test text theatre theory thing thread throat thumb thunder
ticket tide tiger timber tin title toe tongue tool tooth top touch tower town toy trade train tray treaty tree trial
trick trouble truck trumpet trunk truth tunnel turn umbrella uncle union value valley van vase vegetable vehicle verse
vessel vest view village violin visit voice vote voyage wage wagon waist wall war wash waste watch water wave wax way
weather week weight well west wheel whip whistle wind window wine wing winter wire witness wood wool word work
workshop world worm wound writer yard year zone
"""
_ADJECTIVES: Final = """
able ancient angry automatic bitter black blue boiling brave bright broken brown busy calm careful certain cheap clean
clear clever cold common complete complex conscious cool cruel curious current dark dead dear deep delicate dependent
different dirty distant double dry due early eastern easy elastic electric empty equal even exact extra faint fair
false familiar famous fast fat feeble fertile final fine firm first fixed flat foreign formal free frequent fresh full
future general gentle good grand great green grey half happy hard healthy heavy high hollow honest huge ideal idle ill
important inner joint keen kind large last late left light likely limited little local lonely long loose loud low main
major married material medical middle military mixed modern moral narrow natural near necessary new noble normal
northern obvious odd official old open opposite ordinary outer parallel past patient perfect physical plain pleasant
polite poor possible practical present previous private probable proper proud public pure quick quiet rapid rare ready
real recent red regular responsible rich right rigid rough round royal sad safe scarce second secret senior separate
serious sharp short shut silent similar simple slow small smooth social soft solid sound southern special spare square
stable steep sticky stiff still straight strange strict strong sudden sweet tall technical tender thick thin tight
tired true upper urgent useful usual vast violent visible warm weak wet white whole wide wild wise wooden wrong yellow
young
"""
_ADVERBS: Final = """
again almost alone already always away badly barely before briefly carefully certainly clearly closely daily deeply
early easily elsewhere even eventually everywhere exactly fairly finally firmly freely gently gladly gradually hardly
hastily heavily honestly indeed instead just lately later loudly mostly nearby neatly never often once openly partly
perhaps plainly politely properly quickly quietly quite rarely readily really roughly sadly safely seldom sharply
shortly silently simply slowly smoothly softly somehow sometimes soon steadily still strangely suddenly surely then
therefore together too twice usually warmly widely wisely
"""
_ACTIONS: Final = """
accepted admired arranged avoided begged blamed borrowed bought brought built buried called carried caught changed
checked chose cleaned closed collected compared copied counted covered crossed defended delivered described designed
discovered divided doubted drew drove earned emptied examined exchanged expected explained feared filled finished fixed
followed forgot found gathered gave greeted guarded guessed hated heard held hid hired ignored improved inspected
invented joined judged kept knew learned left lent lifted liked listed loaded lost loved made marked measured mended
met missed mixed moved named needed noticed offered opened ordered owned packed painted paid passed placed planned
played pointed praised prepared pressed printed promised protected proved pulled pushed questioned raised reached read
received recorded refused remembered removed repaired repeated replaced reported returned saved searched seized
selected sent served settled shared showed signed sold solved sorted spoiled started stole stopped stored studied
supplied supported tested thanked threw tied took touched traded trusted turned understood used valued visited wanted
warned washed watched weighed welcomed won wrapped wrote
"""
_WENT: Final = """
arrived began belonged broke burned came climbed continued cried danced disappeared drifted dropped ended escaped fell
flew floated grew happened hesitated hurried jumped landed laughed lay leaned listened lived looked marched melted
moved nodded paused pointed remained rested rode rose rushed sailed sank sat settled shone shook slept slid smiled
spread stayed stood stopped stretched stumbled swam swung talked travelled trembled turned waited walked wandered went
whispered worked
"""
_PLURALS: Final = """
accounts animals answers apples arguments bags barrels baskets bells benches bills birds boards boats bolts bones books
bottles bowls boxes branches bricks bridges brushes buckets buttons cables cakes candles cards chairs children clerks
clouds coats coins colours columns copies corners crates crops crowds cups curtains customers dancers days debts
details dishes doctors doors drawings dreams drums eggs engines errors events examples experts eyes farmers feathers
fences fields figures fires flags flowers friends fruits gardens gates gears girls glasses gloves goats guards guests
guides habits hammers hands hats hills hinges holes horses hours houses ideas insects islands jars jewels journeys
judges keys knives knots ladders lakes lamps laws leaves lemons lessons letters limits lines lists locks logs machines
maps marks markets masks meals medals meetings members metals methods miles minutes mirrors mistakes models months
mountains nails names needles neighbours nests nets notes notices numbers nurses orders ovens owners pages paintings
papers parcels partners parts paths patterns payments pencils photographs pictures pieces pilots pipes plans plants
plates players pockets poems points ports pots prices problems profits promises pumps questions rails readers reasons
records reports requests results rings rivers roads rocks roots ropes rules sailors samples scales schools screws seats
secrets seeds shapes sheets shelves shells ships shirts shoes shops signals signs singers sisters soldiers songs sounds
spoons stairs stamps stars stations steps sticks stones stores storms stories strangers streets strings students tables
tasks teachers teams tents tests threads tickets tools towers towns toys trains trees tricks trucks trunks tunnels
uncles valleys vegetables verses views villages visitors voices wagons walls watches waves weeks weights wheels windows
wings winters wires witnesses words workers writers years
"""
_PLACES: Final = """
airport attic bakery barn bay bridge cabin camp canal castle cellar chapel church cinema city clinic college corridor
cottage courtyard desert factory farm field forest fort garage garden gate hall harbour hospital hotel house inn island
kitchen laboratory lake library lighthouse market meadow mill mine mountain museum office orchard palace park pier
plain port post prison quarry river road room school shed shop shore square stable stadium station store studio
temple theatre tower town valley village vineyard warehouse wharf wood workshop yard
"""
_GIVEN_NAMES: Final = """
Ada Agnes Albert Alice Alma Amir Anders Anna Anton Arthur Astrid Aubrey Beatrice Bela Bernard Bianca Boris Bruno Carla
Cecil Chen Clara Conrad Cora Cyrus Dagny Daniel Daria David Della Diego Dora Edgar Edith Edmund Elena Eli Elsa Emil
Emma Enzo Erik Esther Eva Felix Fiona Flora Frank Freya Fumiko Galina George Gerda Gilbert Giulia Grace Greta Gustav
Hanna Harold Hector Hedda Helen Henrik Hilda Hugo Ida Igor Ilse Imani Ines Irene Isaac Ivan Jacob Jan Jasper Jonas
Joyce Judith Julia Karin Karl Kenji Lars Laura Lena Leo Lina Louis Lucia Ludwig Mabel Magda Marco Maria Martin Matilda
Max Mei Mila Miriam Nadia Nils Nina Nora Olaf Olga Oscar Otto Paul Paula Pavel Pedro Petra Philip Priya Quentin Rachel
Ralph Rosa Rupert Ruth Samuel Sara Selma Simon Sofia Stefan Sven Tamara Theo Thomas Tilda Tobias Ursula Vera Victor
Viola Walter Wanda Wei Wilma Xenia Yusuf Zara Zoltan
"""
_FAMILY_NAMES: Final = """
Abbott Adler Akita Albrecht Almeida Arden Ashford Baker Barlow Becker Bellamy Berg Bishop Blackwood Bloom Brandt Brook
Calloway Carver Castillo Chandler Cole Cooper Crane Dahl Dalton Devlin Drake Dubois Easton Ekman Ellery Falk Farrow
Fenwick Fischer Fletcher Forsberg Garland Gibson Glover Grant Greaves Haddad Hale Harper Hartwig Hayes Holm Horvath
Hughes Ingram Ito Jansen Jarvis Keller Kemp Kovacs Lambert Larkin Lindqvist Lockwood Marsh Mercer Miller Moreau Morita
Nash Novak Nyberg Okafor Olsen Osman Palmer Parrish Petrov Pike Quist Ramsey Reeve Rivera Rossi Sandberg Sato Sawyer
Shaw Silva Singh Sommer Stark Steiner Tanaka Thorne Turner Urban Vance Vogel Walsh Weaver Weber Winter Yardley Zeller
"""
_CITIES: Final = """
Aarhus Antwerp Basel Bergen Bilbao Bologna Boston Bremen Brno Bruges Cardiff Cork Dallas Denver Dresden Dublin Durban
Geneva Genoa Ghent Graz Hamburg Helsinki Izmir Kobe Krakow Kyoto Leeds Leipzig Lima Lisbon Lyon Madrid Malmo Milan
Montreal Munich Nairobi Nantes Oslo Ottawa Perth Porto Prague Quito Riga Rotterdam Salzburg Seattle Seoul Seville
Sofia Split Sydney Tallinn Toledo Turin Utrecht Valencia Vienna Vilnius Warsaw Zagreb Zurich
"""
_TIMES: Final = """
afternoon autumn dawn day dusk evening fortnight hour midnight minute moment month morning night noon season spring
summer sunset week weekend winter year
"""
_CODE_VERBS: Final = """
add align append apply assign attach balance batch bind build cache check clamp clear close collect commit compact
compare compute convert copy count decode detach diff drain drop emit encode evict expand export extract fetch fill
filter find flatten flush fold format gather group hash insert inspect join limit link list load lock lookup map mark
match measure merge move normalize open pack parse patch pick poll pop probe prune publish push query rank read rebuild
reduce refresh register release remove rename render replace reset resolve resize retry rotate route sample save scale
scan schedule score seek select send shift shuffle skip sort split stage start stop store sum swap sync take touch trace
track transform trim unpack update validate visit wait walk weigh wrap write zip
"""
_CODE_NOUNS: Final = """
account action address alias anchor archive array asset attempt axis backlog backup bank batch bin block bound branch
bucket budget buffer bundle cell chain channel chunk client clock cluster code column config context cookie copy cost
counter cursor cycle date deadline fallback delta depth digest domain edge element entry epoch error event extent factor
feature field file filter flag folder frame gap graph grid group handle handler hash header height host index input
instance interval invoice item job key label layer leaf ledger length level limit line link list loader lock log loop
margin mask matrix member message metric mode model name node notice number object offset option order origin output
owner packet page pair param parent part patch path payload peer period pixel plan point policy pool port position
prefix price priority probe profile progress queue quota rank rate ratio reader record region report request reserve
result retry ring role root route row rule sample scale schema scope score section seed segment sender sequence series
session shape shard sheet signal size slice slot snapshot sort source span stack stage state stats status step stock
store stream string subset suffix sum symbol table tag target task template tensor term thread ticket tile time token
total trace tree trigger tuple type unit update user value vector vertex view volume weight width window word worker
writer zone
"""

NOUNS: Final = tuple(_NOUNS.split())
ADJECTIVES: Final = tuple(_ADJECTIVES.split())
ADVERBS: Final = tuple(_ADVERBS.split())
ACTIONS: Final = tuple(_ACTIONS.split())
"""Verbs that take an object, in the past."""
WENT: Final = tuple(_WENT.split())
"""Verbs without an object, in the past."""
PLURALS: Final = tuple(_PLURALS.split())
PLACES: Final = tuple(_PLACES.split())
TIMES: Final = tuple(_TIMES.split())
GIVEN_NAMES: Final = tuple(_GIVEN_NAMES.split())
FAMILY_NAMES: Final = tuple(_FAMILY_NAMES.split())
CITIES: Final = tuple(_CITIES.split())
CODE_VERBS: Final = tuple(_CODE_VERBS.split())
CODE_NOUNS: Final = tuple(_CODE_NOUNS.split())
